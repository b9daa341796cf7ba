/** us-east-1, arm64, per million GB-seconds and per million requests. */
const prices = { gbSeconds: 13.33, requests: 0.2 };

/** With this memory, a function has one processor; with less, a share of it. */
const memoryOfOneProcessorMb = 1_769;

/** Waiting for DynamoDB, in seconds. */
const tableSeconds = 0.01;

/**
 * What Lambda charges for a million invocations.
 * @param processorMs - work of one invocation on a whole processor
 * @param upstreamSeconds - how long it waits for the service
 */
export function dollarsPerMillion(memoryMb: number, processorMs: number, upstreamSeconds: number): number {
  const share = Math.min(1, memoryMb / memoryOfOneProcessorMb);
  return (memoryMb / 1_024) * (upstreamSeconds + tableSeconds + processorMs / 1_000 / share) * prices.gbSeconds + prices.requests;
}
