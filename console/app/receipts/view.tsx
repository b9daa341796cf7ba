import { useState } from 'preact/hooks';
import { Refusal } from '../../../client/errors.ts';
import { readFailure } from '../../../client/http.ts';
import { type ReceiptClaims, type ReceiptFile, type ReceiptReport, verifyReceipt } from '../../../client/receipts.ts';
import { completeReceipt, parseReceipt } from '../../../registry/receipts.ts';
import { Value } from '../answer.tsx';
import { Button, DropField } from '../components/controls.tsx';
import { Fields } from '../components/fields.tsx';
import { Failure, Skeleton } from '../components/states.tsx';
import { Table } from '../components/table.tsx';
import { Badge, Heading, Link, Part, Shown, Time } from '../components/text.tsx';
import type { Field, Typed } from '../field-values.ts';
import { exchange, useWork } from '../gate.ts';
import { calls } from '../made-calls.ts';
import { linkTo, type Route } from '../route.ts';
import { useStore } from '../store.ts';

export const receiptsView = {
  path: 'receipts',
  title: 'Receipts',
  View: ({ path: [, id] }: Route) => <Receipts key={id} id={id} />,
  ofCall: ({ receipt }: { receipt?: ReceiptFile | undefined }) => receipt && 'Receipt',
};

/** Receipts of calls in this tab, and from files. */
function Receipts({ id }: { id: string | undefined }) {
  const made = useStore(calls).filter(({ receipt }) => receipt);
  const [chosen, setChosen] = useState<File>();
  const dropped = useWork(async () => chosen && parseReceipt(await chosen.text(), chosen.name), [chosen]);
  const file = dropped.answer ?? made.find(({ executionId }) => executionId === id)?.receipt;
  return (
    <>
      <Heading title="Receipts" />
      <p class="lead">
        A receipt proves that the gate made a call, and when. Your browser checks it against the gate's public keys and log.
      </p>
      {file ? <Verified key={file.receipt} file={file} /> : id && <p>This tab has no receipt for this call. Choose its file.</p>}
      <DropField
        label="Drop a receipt here, or choose its file"
        hint="Written by intent-gate try --receipt, or downloaded from this page"
        accept=".json"
        onFiles={(files) => setChosen(files?.[0])}
      />
      <Failure error={dropped.error} />
      {made.length > 0 && (
        <Part title="Receipts for your calls">
          <Table
            label="Receipts"
            heads={['Operation', 'When']}
            rows={made.map(({ executionId = '', intentUid, at }) => [
              <Link to={linkTo(['receipts', executionId])} text={intentUid} />,
              <Time at={at} />,
            ])}
          />
        </Part>
      )}
    </>
  );
}

const trustedFields: Field[] = [
  { name: 'logKey', label: 'Log key', type: 'string', hint: 'From the operators of the gate; default: /log/key' },
  { name: 'checkpoint', label: 'Saved checkpoint', type: 'string', maxLength: 4_000, hint: 'An earlier /log/checkpoint' },
];

const placeCheck = 'place in the log';

function Verified({ file }: { file: ReceiptFile }) {
  const [trusted, setTrusted] = useState<Typed>({});
  const { logKey = '', checkpoint = '' } = trusted;
  const own = { logKey: logKey.trim() || undefined, checkpoints: checkpoint.trim() === '' ? [] : [`${checkpoint.trim()}\n`] };
  const { answer, error, reload } = useWork(() => verify(file, own), [file, logKey, checkpoint]);
  if (error !== undefined) return <Failure error={error} retry={reload} />;
  if (!answer) return <Skeleton rows={4} label="Verifying" />;
  const { whole, isWaiting } = answer;
  const { checks, claims, isValid } = answer.report;
  return (
    <>
      <div class={isValid ? 'notice good' : isWaiting ? 'notice' : 'failure'} role="status">
        <p>
          <strong>
            {isValid ? 'The receipt is genuine.' : isWaiting ? 'The receipt is not in the log yet.' : 'The receipt is not valid.'}
          </strong>
        </p>
        {isWaiting && (
          <p>
            The gate adds it within five minutes. <Button title="Check again" onClick={reload} />
          </p>
        )}
      </div>
      <div class="columns">
        <Part title="Checks">
          <Table
            label="Outcome of each check"
            rows={checks.map((one) => [one.what, <Outcome {...one} isWaiting={isWaiting && one.what === placeCheck} />])}
          />
          <p>
            <a class="button" download={`receipt-${claims?.execution_id ?? ''}.json`} href={toFile(whole)}>
              Download the receipt
            </a>
          </p>
          <details>
            <summary>Use your own key and checkpoint</summary>
            <Fields fields={trustedFields} typed={trusted} issues={[]} onTyped={setTrusted} />
          </details>
        </Part>
        {claims && (
          <Part title="Contents">
            <Value value={nameClaims(claims)} label="Contents" />
          </Part>
        )}
      </div>
    </>
  );
}

const Outcome = ({ problem, isSkipped, isWaiting }: ReceiptReport['checks'][number] & { isWaiting: boolean }) => {
  if (isSkipped || isWaiting) return <Badge>{isWaiting ? 'not yet' : 'not compared'}</Badge>;
  if (problem === undefined) return <Badge tone="good">passed</Badge>;
  return (
    <>
      <Badge tone="bad">invalid</Badge> <Shown text={problem} />
    </>
  );
};

/**
 * Verifies a receipt, with its inclusion in the log if it is already there. The key of the log is this gate's unless another is trusted, because a
 * forged file could have its own.
 */
async function verify(file: ReceiptFile, trusted: { logKey: string | undefined; checkpoints: string[] }) {
  const logKey = trusted.logKey ?? (await readLogKey());
  const { isWaiting, ...whole } = await completeReceipt(file, exchange, trusted.checkpoints).then(
    (found) => ({ ...found, isWaiting: false }),
    async (error: unknown) => {
      if (!(error instanceof Refusal && error.details.reason === 'waiting')) throw error;
      return { ...(await completeReceipt({ ...file, proof: '' }, exchange)), proof: undefined, isWaiting: true };
    },
  );
  const report = await verifyReceipt(whole, { ...trusted, logKey });
  const isRefuted = report.checks.some(({ what, problem }) => problem !== undefined && what !== placeCheck);
  return { whole, report, isWaiting: isWaiting && !isRefuted };
}

async function readLogKey(): Promise<string> {
  const answer = await exchange('GET', '/log/key');
  if (answer.status !== 200) throw readFailure(answer);
  return answer.text;
}

const toFile = (whole: ReceiptFile): string => `data:application/json,${encodeURIComponent(`${JSON.stringify(whole, null, 2)}\n`)}`;

const nameClaims = (claims: ReceiptClaims) => ({
  Gate: claims.iss,
  Execution: claims.execution_id,
  Ended: new Date(claims.time).toLocaleString(),
  Outcome: claims.outcome,
  'Agent key': claims.agent_thumbprint,
  'Policy digest': claims.policy_digest,
  'Operation digest': claims.intent_digest,
  'Parameters digest': claims.parameters_digest,
  'Answer digest': claims.answer_digest,
});
