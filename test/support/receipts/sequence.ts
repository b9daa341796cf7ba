import type { RunningStack } from '../../../bin/local/stack.ts';

/** Puts receipts into the log now, which the stack does once a minute. */
export async function sequenceReceipts({ definitionOf }: Pick<RunningStack, 'definitionOf'>): Promise<void> {
  const { name, environment } = definitionOf('sequence-receipts');
  await fetch(`${environment.AWS_ENDPOINT_URL_LAMBDA}/2015-03-31/functions/${name}/invocations`, { method: 'POST', body: '{}' });
}
