import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import * as z from 'zod';
import { jwsAlgorithmNames } from '../../functions/core/pat/signatures.ts';
import { fillTemplate, parsePolicyTemplate } from '../../functions/core/policy/template.ts';
import { namedPolicyTrial, policyTrialQuery } from '../../schemas/executions.ts';
import { patRequest, patResponse } from '../../schemas/pat.ts';
import { policy, policyQuery, policyWords } from '../../schemas/policy.ts';
import type { EndpointGroup } from './endpoint.ts';
import { agentId, exampleBaseUrl } from './fixtures.ts';

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
    row: 4,
    method: 'GET',
    path: '/api/policy',
    alias: '/{protocol}-policy.json',
    summary: 'Read the usage policy',
    description:
      'Sign these bytes, or a JWS with this document as its payload. A PAT is valid only while this policy is in force. `view=words` returns the policy in plain sentences, to show to a person.',
    credential: 'none',
    query: policyQuery,
    answer: z.union([policy, policyWords]),
    headers: ['ETag'],
    needs: { policy: true },
    example: ({ policy }) => ({ answer: filled(policy) }),
  },
  'get-policy-trial': {
    method: 'GET',
    path: '/api/policy/try',
    summary: 'Read what the policy on trial would have decided',
    description:
      'The policy of the setting `tryPolicyFile` judges every execution, without effect. Returns which calls it would have refused, permitted or required approval for, by rule, agent and intent, among at most the newest 100,000 executions of the period; `since` is the time of the first. Limits count from that one.',
    credential: 'admin',
    errors: ['NOT_FOUND'],
    query: policyTrialQuery,
    answer: namedPolicyTrial,
    needs: { table: { usage: ['query'] }, policy: true, triesPolicy: true },
    timeoutSeconds: 29,
    memoryMb: 1024,
    example: {
      answer: {
        since: '2027-02-28T12:00:00.000Z',
        until: '2027-03-01T12:00:00.000Z',
        calls: 4_120,
        would_refuse: [
          {
            rule: '/permission/1/constraint/0',
            words: 'You may execute the intent pay.example:refund:v1 only if parameter amount is less than 500.',
            agent_id: agentId,
            intent_uid: 'pay.example:refund:v1',
            calls: 41,
            first: '2027-02-28T13:12:00.000Z',
            last: '2027-03-01T09:30:00.000Z',
          },
        ],
        would_permit: [],
        would_wait: [],
        unknown: [],
        gaps: [],
        rules: [
          {
            rule: '/permission/1',
            words: 'You may execute the intent pay.example:refund:v1 if parameter amount is less than 500.',
          },
        ],
      },
    },
  },
  'issue-pat': {
    row: 5,
    method: 'POST',
    path: '/api/pat/issue',
    alias: '/pat/issue',
    summary: 'Get a Policy Adherence Token (PAT) for the signed policy',
    description: [
      `\`signed_policy\` is a compact JWS whose payload is the policy, a detached one (nothing between the dots), or a bare signature over the bytes of the policy in hex, base64 or base64url. Algorithms: ${jwsAlgorithmNames.join(', ')}.`,
      '`agent_public_key` is a public key as PEM, as base64 of PEM or DER, or as a JWK in JSON: RSA of 2048 bits or more, P-256, P-384 or Ed25519.',
      'The first key that presents an `agent_id` owns it; ids that differ only in case and white space are the same. If the gate lets other keys use it too, they are separate agents, called `<agent_id>~<thumbprint>`. If you send a `DPoP` proof, every use of the PAT and every later PAT of the agent needs one. The gate may require approval of agents before their first PAT (403, `approval_pending`).',
      '`agent_directory` is the https origin of the company behind the agent. If its `/.well-known/http-message-signatures-directory` (Web Bot Auth) lists the key, the agent is verified for that domain until the PAT ends; otherwise, the request is refused. Policies may name domains, and admins may approve them.',
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
        policy: ['get', 'put'],
        slowCalls: ['get', 'update'],
      },
      kms: ['sign', 'publicKey'],
      policy: true,
      egress: 'documents',
    },
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
