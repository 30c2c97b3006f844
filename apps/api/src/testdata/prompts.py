"""Pushes, pulls, tags and deletes prompts with the langsmith client. Usage: prompts.py URL KEY. Prints what it saw as JSON."""

import json
import sys

from langchain_core.prompts import ChatPromptTemplate
from langchain_core.prompts.structured import StructuredPrompt
from langsmith import Client
from langsmith.utils import LangSmithConflictError, LangSmithNotFoundError, LangSmithUserError

client = Client(api_url=sys.argv[1], api_key=sys.argv[2])
first = ChatPromptTemplate.from_messages([("system", "You translate to {language}. ä"), ("human", "{text}")])
second = ChatPromptTemplate.from_messages([("system", "Translate to {language}."), ("human", "{text}")])


def caught(work):
    """The class and the beginning of the words of an error."""
    try:
        work()
    except (LangSmithConflictError, LangSmithNotFoundError, LangSmithUserError) as error:
        return [type(error).__name__, str(error)]
    return None


url = client.push_prompt("translate", object=first, description="d", readme="# r", tags=["t"], commit_tags="prod")
client.push_prompt("translate", object=second, commit_tags=["staging", "next"], commit_description="shorter")
again = caught(lambda: client.push_prompt("translate", object=second))
commits = list(client.list_prompt_commits("translate"))
pulled = client.pull_prompt("translate")
tagged = client.pull_prompt("translate:prod")
by_hash = client.pull_prompt(f"translate:{commits[1].commit_hash[:8]}")
client.push_prompt("translate", object=first, commit_tags="staging")
moved = client.pull_prompt_commit("translate:staging", skip_cache=True)

schema = {"title": "answer", "type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
client.push_prompt("structured", object=StructuredPrompt.from_messages_and_schema([("human", "{q}")], schema))
structured = client.pull_prompt("structured")

client.create_prompt("empty", description="none yet")
client.update_prompt("empty", description="still none", is_archived=True)
likes = [client.like_prompt("translate"), client.unlike_prompt("translate"), client.like_prompt("translate")]
listed = client.list_prompts()
archived = client.list_prompts(is_archived=True)
found = client.list_prompts(query="TRANS")
one = client.get_prompt("translate")
public = [
    caught(lambda: client.push_prompt("open", object=first, is_public=True)),
    caught(lambda: client.pull_prompt("someone/thing", dangerously_pull_public_prompt=True)),
    caught(lambda: client.delete_prompt("someone/thing")),
]
missing = [
    caught(lambda: client.pull_prompt("nothing")),
    caught(lambda: client.pull_prompt("empty")),
    caught(lambda: client.pull_prompt("translate:no-such")),
]
client.delete_prompt("structured")

print(
    json.dumps(
        {
            "url": url.split("/prompts/")[1].split("?")[0].split("/")[0],
            "again": again[0],
            "commits": [[c.description, c.parent_commit_hash == commits[-1].commit_hash] for c in commits],
            "pulled": pulled == second.model_copy(update={"metadata": pulled.metadata}),
            "owner": pulled.metadata["lc_hub_repo"],
            "formatted": tagged.invoke({"language": "French", "text": "hi"}).messages[0].content,
            "by_hash": by_hash.messages == first.messages,
            "moved": moved.commit_hash not in [c.commit_hash for c in commits],
            "structured": structured.schema_["title"],
            "likes": [answer["likes"] for answer in likes],
            "listed": sorted([p.repo_handle, p.num_commits, p.num_likes] for p in listed.repos),
            "archived": [[p.repo_handle, p.description, p.last_commit_hash] for p in archived.repos],
            "found": [p.repo_handle for p in found.repos],
            "one": [one.description, one.readme, one.tags, one.is_public, one.liked_by_auth_user],
            "public": [name for name, _ in public],
            "missing": [name for name, _ in missing],
            "deleted": client.get_prompt("structured"),
        }
    )
)
