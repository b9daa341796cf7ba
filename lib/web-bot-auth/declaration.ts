import * as z from 'zod';
import { directoryMediaType, directoryPath } from '../../functions/web-bot-auth/signature.ts';
import { callKeySet } from '../../schemas/web-bot-auth/call-keys.ts';
import type { Declaration } from '../declaration.ts';

declare module '../endpoints/needs.ts' {
  interface Needs {
    /** derives the keys that sign calls: kms:GenerateMac with the call key */
    callKey?: true;
  }
}

const signing = { needs: { callKey: true } } as const;

export const webBotAuth = {
  endpoints: {
    'This gate': {
      'get-signature-directory': {
        method: 'GET',
        path: directoryPath,
        summary: 'Read the public keys that verify the calls of this gate',
        description:
          'For upstreams: the Web Bot Auth directory, signed with each of its keys. The first key signs; its successor is listed from thirty days before it signs, its predecessor for thirty days after. The response may be cached for five minutes.',
        credential: 'none',
        answer: callKeySet,
        mediaType: directoryMediaType,
        needs: { callKey: true },
        memoryMb: 256,
        example: {
          answer: {
            keys: [
              {
                kty: 'OKP',
                crv: 'Ed25519',
                x: 'JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs',
                kid: 'poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U',
                alg: 'EdDSA',
                use: 'sig',
              },
            ],
          },
        },
      },
    },
  },
  additions: {
    'execute-intent': signing,
    'run-deferred-call': signing,
    'issue-pat': {
      description:
        '\n\n`agent_directory` is the https origin of the company behind the agent. If its `/.well-known/http-message-signatures-directory` (Web Bot Auth) lists the key, the agent is verified for that domain until the PAT ends; otherwise, the request is refused. Policies may name domains, and admins may approve them.',
      needs: { table: { slowCalls: ['get', 'update'] }, egress: 'documents' },
    },
  },
  settings: {
    callKey: z
      .string()
      .regex(/^[a-z0-9-]{1,40}$/, 'must be lower-case letters, digits and hyphens')
      .default('first')
      .describe('name of the key from which the keys that [sign calls](calls.md#signatures) are derived; a new name replaces all of them'),
  },
} as const satisfies Declaration;
