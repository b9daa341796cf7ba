import { useContext, useMemo, useState } from 'preact/hooks';
import { Refusal } from '../../../client/errors.ts';
import { describeParts } from '../../../functions/core/policy/describe.ts';
import { interpretPolicy } from '../../../functions/core/policy/reading.ts';
import { unfilled } from '../../../functions/core/policy/write-published.ts';
import type { ApiCallOptions } from '../../../registry/api.ts';
import type { ChangePage } from '../../../schemas/changes.ts';
import type { Issue } from '../../../schemas/errors.ts';
import type { Policy, Publication } from '../../../schemas/policy.ts';
import { Button, DropField } from '../components/controls.tsx';
import { Short } from '../components/copyable.tsx';
import { Awaited, Failure } from '../components/states.tsx';
import { Table } from '../components/table.tsx';
import { Ago, Badge, Items, Part, Way } from '../components/text.tsx';
import { deployment } from '../deployment.ts';
import { ask, useRead, useWork } from '../gate.ts';
import { linkTo, type Route } from '../route.ts';
import { AdminSections } from '../section.ts';
import { useDraft } from '../store.ts';
import { Act } from './act.tsx';
import { Editor } from './editor.tsx';
import { type CompletionSchema, complete, openLines } from './policy-text.ts';

/** How long nobody has typed before the gate checks the text, in milliseconds. */
const quietMs = 500;

interface Draft {
  text: string;
  /** entity tag of the policy that was in force when the editing began */
  base: string;
}

/** The policy as a person edits it. */
const toText = (policy: Policy): string => JSON.stringify(unfilled(policy, deployment.publicUrl), null, 2);

/** The rules of the policy in force, an editor that publishes another, and the earlier versions. */
export function EditPolicy({ query }: Route) {
  const reading = useRead<Policy>('/api/policy');
  const { value, etag = '' } = reading.answer ?? {};
  return (
    <>
      <Awaited reading={reading} />
      {value && <Editing inForce={value} etag={etag} query={query} reload={reading.reload} />}
    </>
  );
}

function Rules({ policy }: { policy: Policy }) {
  const more = useContext(AdminSections).flatMap(({ useRuleColumns }) => useRuleColumns?.(policy) ?? []);
  const numbers = more.flatMap(({ head, isNumber }) => (isNumber ? [head] : []));
  return (
    <Table
      label="Rules in force"
      heads={['Who', 'What', 'Limit', 'Price', 'Approval', ...more.map(({ head }) => head)]}
      numbers={numbers}
      rows={interpretPolicy(policy, deployment.publicUrl).rules.map((rule) => {
        const { who, what, limits, prices } = describeParts(rule);
        const approval = rule.needsApproval ? 'each call' : '';
        const cells = [who === 'You' ? 'Every agent' : who, what, limits.join(' and '), prices.join(' and '), approval];
        return [...cells, ...more.map(({ cell }) => cell(rule))];
      })}
    />
  );
}

/** The result of a dry run. */
interface Checked {
  text?: string;
  issues?: readonly Issue[];
  result?: Publication;
}

function Editing({ inForce, etag, query, reload }: { inForce: Policy; etag: string; query: URLSearchParams; reload(): void }) {
  const schema = useRead<CompletionSchema>('/docs/policy.schema.json').answer?.value;
  const sections = useContext(AdminSections);
  const original = useMemo(() => toText(inForce), [inForce]);
  const [draft, setDraft] = useDraft<Draft | undefined>('policy', undefined);
  const [published, setPublished] = useState<Publication>();
  const text = draft?.text ?? original;
  const edit = (next: string, base = draft?.base ?? etag) => {
    setPublished(undefined);
    setDraft(next === original ? undefined : { text: next, base });
  };
  const put = async (options: ApiCallOptions): Promise<Publication> => {
    const sent = { raw: { text, mediaType: 'application/json' }, headers: { 'If-Match': etag }, isAdmin: true, ...options };
    const answer = await ask<Publication>('PUT', '/api/policy', sent).catch((error: unknown) => {
      // the difference from the policy that is now in force has to be seen first
      if (error instanceof Refusal && error.details.reason === 'etag_mismatch') reload();
      throw error;
    });
    return answer.value;
  };
  const checked = useWork<Checked>(
    async (signal) => {
      if (draft === undefined) return {};
      await new Promise((resolve) => setTimeout(resolve, quietMs));
      signal.throwIfAborted();
      try {
        return { text, result: await put({ query: { dry_run: 'true' }, signal }) };
      } catch (error) {
        if (error instanceof Refusal && error.issues.length > 0) return { text, issues: error.issues };
        throw error;
      }
    },
    [draft?.text, etag],
  );
  const { text: checkedText = '', issues = [], result } = (draft && checked.answer) || {};
  const lineOf = useMemo(() => openLines(checkedText), [checkedText]);
  const warnings = Object.groupBy(result?.warnings ?? [], ({ path }) => (path === '' ? 'general' : 'local'));
  const local = [...issues, ...(warnings.local ?? [])].sort((a, b) => lineOf(a) - lineOf(b));
  const problems = new Map([...Map.groupBy(local, lineOf)].map(([line, some]) => [line, some.map(({ problem }) => problem)]));
  const isSame = result?.changes.length === 0;
  return (
    <>
      <Rules policy={inForce} />
      <Part title="Edit the policy" id="edit">
        {published && (
          <div class="notice" role="status">
            <p>
              Published. To undo this, publish an earlier version again, or undo{' '}
              <a href={linkTo(['history', String(published.seq)])}>change {published.seq}</a>.
            </p>
            <Items texts={published.changes} />
          </div>
        )}
        <Editor
          label="Policy"
          text={text}
          problems={problems}
          complete={(...given) => schema && complete(schema, ...given)}
          onText={(next) => edit(next)}
        />
        <DropField label="Load a policy file" accept=".json" onFiles={(files) => void files?.[0]?.text().then((next) => edit(next))} />
        {draft && (
          <>
            {draft.base !== etag && (
              <p class="notice">Another policy has been published since you began. The changes below are relative to it.</p>
            )}
            <Items title="Warnings:" texts={warnings.general?.map(({ problem }) => `The policy ${problem}`) ?? []} />
            <Items title="Changes to the policy in force:" texts={result?.changes ?? []} />
            <p role="status">
              {checked.isLoading
                ? 'Checking …'
                : local.length > 0
                  ? 'Correct the marked lines.'
                  : isSame && 'This policy is already in force.'}
            </p>
            <Failure error={checked.isLoading ? undefined : checked.error} retry={checked.reload} />
            {result && !isSame && !checked.isLoading && checkedText === text && (
              <Act
                title="Publish"
                isDangerous
                question={`Publish this policy? ${result.agents} ${result.agents === 1 ? 'agent' : 'agents'} must sign again before the next call.`}
                command="policy publish policy.json"
                act={async () => {
                  setPublished(await put({}));
                  setDraft(undefined);
                  reload();
                }}
              />
            )}
            <p>
              <Button title="Discard changes" onClick={() => setDraft(undefined)} />
            </p>
          </>
        )}
      </Part>
      {sections.map(
        ({ path, AboutPolicy }) => AboutPolicy && <AboutPolicy key={path} inForce={inForce} draft={draft?.text} query={query} />,
      )}
      <Versions
        key={etag}
        onChosen={(chosen) => {
          edit(chosen, etag);
          document.querySelector<HTMLElement>('#edit textarea')?.focus();
        }}
      />
    </>
  );
}

/** The published policies, newest first. */
function Versions({ onChosen }: { onChosen(text: string): void }) {
  const reading = useRead<ChangePage>('/api/changes', { kind: 'policy', id: 'policy', page_size: '100' }, 'admin');
  const [failure, setFailure] = useState<unknown>();
  const published = (reading.answer?.value.entries ?? []).map(({ changes: [change], ...entry }) => ({ ...entry, ...change }));
  const first = published.at(-1)?.digest_before;
  const read = (version: string) =>
    ask<Policy>('GET', '/api/policy', { query: { version } }).then(({ value }) => onChosen(toText(value)), setFailure);
  const again = (version = '') =>
    version === published[0]?.digest_after ? (
      <Badge tone="good">in force</Badge>
    ) : (
      <Button title="Publish again" kind="plain" label={`Publish again: ${version}`} onClick={() => void read(version)} />
    );
  return (
    <Part title="Versions">
      <Awaited reading={reading} rows={2} />
      <Failure error={failure} />
      {reading.answer && published.length === 0 && <p>The deployment's own policy is in force. No other version has been published.</p>}
      <Table
        label="Published policies"
        heads={['Published', 'By', 'Version', 'Publish']}
        rows={[
          ...published.map(({ seq, at, actor, digest_after }) => [
            <a href={linkTo(['history', String(seq)])}>
              <Ago at={at} />
            </a>,
            actor.user_name ?? actor.client_id ?? actor.subject,
            digest_after && <Short text={digest_after} label={`version ${digest_after}`} />,
            again(digest_after),
          ]),
          ...(first === undefined ? [] : [['earlier', '', <Short text={first} label={`version ${first}`} />, again(first)]]),
        ]}
      />
      <Way to={reading.answer?.next && linkTo(['history'], reading.answer.next)} title="Older versions" />
    </Part>
  );
}
