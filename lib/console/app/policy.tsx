import type { PolicyWords } from '../../../schemas/policy.ts';
import { Sentences } from './consent.tsx';
import { useRead } from './gate.ts';
import { Failure, Heading } from './parts.tsx';

/** The policy in words. */
export function PolicyView() {
  const { answer, error, reload } = useRead<PolicyWords>('/api/policy', { view: 'words' });
  return (
    <>
      <Heading title="Policy">The policy in plain words</Heading>
      <Failure error={error} retry={reload} />
      <Sentences sentences={answer?.value.sentences ?? []} />
      <p>
        What is signed is the <a href="api/policy">policy itself</a>. A PAT ends when the policy changes.
      </p>
    </>
  );
}
