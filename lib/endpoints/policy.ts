import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import * as z from 'zod';
import { jwsAlgorithmNames } from '../../functions/core/pat/signatures.ts';
import { fillTemplate, parsePolicyTemplate } from '../../functions/core/policy/template.ts';
import { patRequest, patResponse } from '../../schemas/pat.ts';
import { policy, policyQuery, policyWords, publication, publicationQuery, writtenPolicy } from '../../schemas/policy.ts';
import { type EndpointGroup, issueFailures, wholeProcessorMb } from './endpoint.ts';
import { agentId, exampleBaseUrl } from './fixtures.ts';
import { policyChanges } from './needs.ts';

/** An example key, whose private key is the byte 7 repeated 32 times. */
const privateKey = createPrivateKey({
  key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, 7)]),
  format: 'der',
  type: 'pkcs8',
});

function signDetached(text: string): string {
  const header = Buffer.from('{"alg":"EdDSA"}').toString('base64url');
  const signature = sign(null, Buffer.from(`${header}.${Buffer.from(text).toString('base64url')}`), privateKey);
  return `${header}..${signature.toString('base64url')}`;
}

const filled = (text: string) => fillTemplate(parsePolicyTemplate(text), exampleBaseUrl);

export const policyAndPats = {
  'get-policy': {
    specRow: 4,
    method: 'GET',
    path: '/api/policy',
    alias: '/{protocol}-policy.json',
    summary: 'Read the usage policy',
    description:
      'Sign these bytes, or a JWS with this document as its payload. A PAT is valid only while this policy is in force. `view=words` returns the policy in plain sentences, to show to a person.',
    credential: 'none',
    query: policyQuery,
    errors: ['NOT_FOUND'],
    answer: z.union([policy, policyWords]),
    headers: ['ETag'],
    needs: { policy: true },
    example: ({ policy }) => ({ answer: filled(policy) }),
  },
  'publish-policy': {
    method: 'PUT',
    path: '/api/policy',
    summary: 'Put a policy into force',
    description:
      "Checks, compiles and publishes the policy in the body, in any of ODRL's spellings; `{base_url}` stands for the address of the gate. All problems are reported together. `If-Match` must be the ETag of `GET /api/policy`, the policy that it replaces. Executions that begin after the answer are judged by it, and PATs of the earlier one are refused (`policy_changed`). With the setting `policySource: file`, 405.",
    credential: 'admin',
    query: publicationQuery,
    body: writtenPolicy,
    requestHeaders: ['If-Match'],
    errors: ['METHOD_NOT_ALLOWED'],
    answer: publication,
    needs: { table: { ...policyChanges, intent: ['getAll'], agentList: ['query'] }, policy: true },
    timeoutSeconds: 29,
    memoryMb: wholeProcessorMb,
    example: ({ policy }) => ({
      query: { dry_run: 'true' },
      body: filled(policy),
      answer: {
        digest: 'mZ1zL1hQ3bq1m1r2mVdJ0qX0o8w7vNqJbq3m2kYxv5k',
        version: '0o5b2eVw7mC3hTzK8rQ1sYxJ4nLd6uPaFgEiRtWyXcM',
        seq: 1712,
        changes: [],
        agents: 0,
        warnings: [],
      },
    }),
  },
  'issue-pat': {
    specRow: 5,
    method: 'POST',
    path: '/api/pat/issue',
    alias: '/pat/issue',
    summary: 'Get a Policy Adherence Token (PAT) for the signed policy',
    description: [
      `\`signed_policy\` is a compact JWS whose payload is the policy, a detached one (nothing between the dots), or a bare signature over the bytes of the policy in hex, base64 or base64url. Algorithms: ${jwsAlgorithmNames.join(', ')}.`,
      '`agent_public_key` is a public key as PEM, as base64 of PEM or DER, or as a JWK in JSON: RSA of 2048 bits or more, P-256, P-384 or Ed25519.',
      'The first key that presents an `agent_id` owns it; ids that differ only in case and white space are the same. If the gate lets other keys use it too, they are separate agents, called `<agent_id>~<thumbprint>`. If you send a `DPoP` proof, every use of the PAT and every later PAT of the agent needs one.',
    ].join('\n\n'),
    credential: 'none',
    errors: ['INVALID_SIGNATURE', 'POLICY_REJECTED', 'TOO_MANY_REQUESTS'],
    body: patRequest,
    requestHeaders: ['DPoP'],
    answer: patResponse,
    headers: ['RateLimit', 'RateLimit-Policy'],
    needs: {
      table: {
        agent: ['getAll', 'put', 'update', 'delete', 'check'],
        agentKey: ['getAll', 'put', 'update', 'delete', 'check'],
        agentList: ['get', 'getAll', 'put', 'update', 'delete', 'check'],
        limit: ['get', 'put', 'update'],
        jti: ['put'],
        earlierPolicy: ['get', 'put'],
      },
      kms: ['sign', 'publicKey'],
      policy: true,
    },
    logMetrics: { Failures: issueFailures },
    alarms: { IssueFailures: { metric: { sum: 'IssueFailures' }, above: 3, description: 'PATs cannot be issued.' } },
    example: ({ protocol, policy }) => ({
      body: {
        agent_id: agentId,
        signed_policy: signDetached(JSON.stringify(filled(policy))),
        agent_public_key: JSON.stringify(createPublicKey(privateKey).export({ format: 'jwk' })),
      },
      answer: { [`${protocol}-pat`]: 'eyJhbGciOiJFUzI1NiIsInR5cCI6InBhdCtqd3QifQ.e30.c2ln', expires_at: '2027-03-01T10:30:00.000Z' },
    }),
  },
} as const satisfies EndpointGroup;
