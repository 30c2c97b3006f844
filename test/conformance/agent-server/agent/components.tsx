import { useState } from 'react';
import { useStreamContext } from '@langchain/langgraph-sdk/react-ui';
import './components.css';

interface CardProps {
  readonly word: string;
  readonly count: number;
}

/** Uses all that a component may count on: hooks of React, the stream, and what the page says beside it. */
function Card({ word, count }: CardProps) {
  const [isOpen, open] = useState(false);
  const { meta, messages, submit } = useStreamContext<{ messages: unknown[] }, { MetaType: string }>();
  const again = () => void submit({ messages: [{ type: 'human', content: 'again' }] });
  return (
    <div className="card">
      <b onClick={() => open(true)}>
        {word} {count} of {messages.length} {meta} {isOpen ? 'open' : 'closed'}
      </b>
      <button onClick={again}>again</button>
    </div>
  );
}

export default { card: Card };
