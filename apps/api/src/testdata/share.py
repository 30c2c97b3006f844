"""Shares a run and reads it. Usage: share.py URL KEY ROOT CHILD. Prints JSON of what was read."""

import json
import sys

from langsmith import Client

url, key, root, child = sys.argv[1:]
client = Client(api_url=url, api_key=key, web_url=url)
link = client.share_run(child)
shared = client.run_is_shared(root) and client.read_run_shared_link(root) == link
token = link.split("/")[-2]
read = str(client.read_shared_run(token).id)
listed = sorted(str(run.id) for run in client.list_shared_runs(token))
client.unshare_run(child)
print(json.dumps({"shared": shared, "root": read, "listed": listed, "ended": not client.run_is_shared(root)}))
