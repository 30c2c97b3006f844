import { tool } from '@langchain/core/tools';
import { interrupt } from '@langchain/langgraph';
import { z } from 'zod';

const getWeather = tool(({ city }) => `sunny in ${city}`, {
  name: 'get_weather',
  description: 'Reports the weather in a city.',
  schema: z.object({ city: z.string() }),
});

const sendMessage = tool(
  ({ to, text }) => {
    // stops the run here; what it is resumed with is the answer
    const approval = interrupt({ question: `Send "${text}" to ${to}?` });
    return approval === 'yes' ? `sent to ${to}` : `not sent: ${String(approval)}`;
  },
  {
    name: 'send_message',
    description: 'Sends a text to a person, once somebody approves.',
    schema: z.object({ to: z.string(), text: z.string() }),
  },
);

export const tools = [getWeather, sendMessage];
