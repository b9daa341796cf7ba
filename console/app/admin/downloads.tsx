import { useState } from 'preact/hooks';
import { toCsv } from '../../../registry/csv.ts';
import { Button } from '../components/controls.tsx';
import { showToast } from '../components/toast.tsx';
import { describeFailure } from '../gate.ts';

const toJson = (all: readonly object[]) => JSON.stringify(all, null, 2);

const tell = (error: unknown) => showToast(describeFailure(error));

/** Buttons that save records as a file. */
export function Downloads({ name, records }: { name: string; records(): readonly object[] | Promise<readonly object[]> }) {
  const [isBusy, setBusy] = useState(false);
  const save = async (ending: string, type: string, toText: (all: readonly object[]) => string) => {
    setBusy(true);
    const text = toText(await Promise.resolve(records()).finally(() => setBusy(false)));
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = `${name}.${ending}`;
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return (
    <p class="buttons">
      <Button title="Download as CSV" isDisabled={isBusy} onClick={() => save('csv', 'text/csv', toCsv).catch(tell)} />
      <Button title="Download as JSON" isDisabled={isBusy} onClick={() => save('json', 'application/json', toJson).catch(tell)} />
    </p>
  );
}
