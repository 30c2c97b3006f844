import { useStreamContext } from '@langchain/langgraph-sdk/react-ui';
import './ui.css';

interface WeatherProps {
  readonly place: string;
  readonly degrees: number;
}

function Weather({ place, degrees }: WeatherProps) {
  const { submit } = useStreamContext();
  const ask = (content: string): void => void submit({ messages: [{ type: 'human', content }] });
  return (
    <section className="weather">
      <h2>{place}</h2>
      <p>{degrees} °C</p>
      <button onClick={() => ask('Madeira')}>and in Madeira?</button>
    </section>
  );
}

export default { weather: Weather };
