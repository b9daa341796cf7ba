import { useState } from 'preact/hooks';
import { describeChanges } from '../../functions/core/policy/describe.ts';
import { type Policy, type PolicyWords, policy as policySchema } from '../../schemas/policy.ts';
import { Failure } from './components/failure.tsx';
import { Heading, Part } from './components/heading.tsx';
import { Skeleton } from './components/skeleton.tsx';
import { Items } from './components/text.tsx';
import { deployment } from './deployment.ts';
import { ask, useRead } from './gate.ts';

export function PolicyView() {
  const { answer, error, reload } = useRead<PolicyWords>('/api/policy', { view: 'words' });
  return (
    <>
      <Heading title="Policy">The policy in plain words</Heading>
      <Failure error={error} retry={reload} />
      {answer === undefined && error === undefined && <Skeleton />}
      <Items texts={answer?.value.sentences ?? []} />
      {answer && (
        <p>
          Agents sign the <a href="api/policy">policy itself</a>. A PAT becomes invalid when the policy changes.
        </p>
      )}
      {(answer || error) && <Comparison />}
    </>
  );
}

/** What would change with the policy of a file, as in the repository of a deployment. The file stays in the browser. */
function Comparison() {
  const [said, setSaid] = useState<{ sentences?: string[]; error?: unknown }>();
  async function compare(file: File | undefined): Promise<void> {
    if (file === undefined) return;
    try {
      const { value: inForce } = await ask<Policy>('GET', '/api/policy');
      const text = (await file.text()).replaceAll('{base_url}', deployment.publicUrl);
      const changes = describeChanges(inForce, policySchema.parse(JSON.parse(text)), deployment.publicUrl);
      setSaid({ sentences: changes.length > 0 ? changes : ['The file says the same.'] });
    } catch (error) {
      setSaid({ error: new Error(`The file is no policy that this gate can put into effect: ${(error as Error).message}`) });
    }
  }
  return (
    <Part title="What a file would change">
      <div class="field">
        <label for="policy-file">Policy file</label>
        <input id="policy-file" type="file" accept=".json" onChange={({ currentTarget: { files } }) => void compare(files?.[0])} />
        <p class="hint">
          The policy changes with a deployment only. The file is compared in your browser. On the command line: npx intent-gate policy diff
          policy.json
        </p>
      </div>
      <div aria-live="polite">
        {said?.sentences && <Items texts={said.sentences} />}
        <Failure error={said?.error} />
      </div>
    </Part>
  );
}
