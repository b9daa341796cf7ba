import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startStack } from '../../bin/local/stack.ts';
import { projectRoot } from '../../bin/local/synthesis.ts';
import { connect } from '../../client/connect.ts';
import { startThread } from './workers.ts';

export interface PolicyFile {
  prohibition?: object[];
}

/** The shipped policy with a rate that no benchmark reaches. */
export function writePolicy(change: (policy: PolicyFile) => void = () => {}) {
  const folder = mkdtempSync(join(tmpdir(), 'intent-gate-bench-'));
  const policyFile = join(folder, 'policy.json');
  const policy = readFileSync(join(projectRoot, 'policy.json'), 'utf8').replace(/("rightOperand": )60\b/, '$11000000');
  const changed = JSON.parse(policy);
  change(changed);
  writeFileSync(policyFile, JSON.stringify(changed));
  return { folder, policyFile, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

/**
 * Starts the gate on this machine without the demo and background functions (count-usage). Its stand-in for DynamoDB runs in a thread that
 * reports its work.
 * @param change - changes the policy
 */
export async function startGate(change: (policy: PolicyFile) => void = () => {}) {
  const policy = writePolicy(change);
  const dynamo = await startThread('./table-worker.ts');
  const stack = await startStack({
    port: 0,
    demo: false,
    background: false,
    quiet: true,
    policyFile: policy.policyFile,
    dynamodbEndpoint: dynamo.url,
  });
  const dispose = async () => {
    await stack.stop();
    await dynamo[Symbol.asyncDispose]();
    policy[Symbol.dispose]();
  };
  return { stack, dynamo, [Symbol.asyncDispose]: dispose };
}

/** Obtains a PAT for a new agent. */
export async function obtainPat(baseUrl: string): Promise<string> {
  const agent = await connect(baseUrl, { agentId: `benchmark-${randomUUID()}`, onPolicy: () => true });
  return (await agent.obtainPat()).pat;
}
