import { toCsv } from '../../../registry/csv.ts';
import { Button } from '../components/controls.tsx';

/** Buttons that save records as a file. */
export function Downloads({ name, records }: { name: string; records(): readonly object[] }) {
  const save = (ending: string, type: string, text: string) => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = `${name}.${ending}`;
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return (
    <p class="buttons">
      <Button title="Download as CSV" onClick={() => save('csv', 'text/csv', toCsv(records()))} />
      <Button title="Download as JSON" onClick={() => save('json', 'application/json', JSON.stringify(records(), null, 2))} />
    </p>
  );
}
