import { health, keySet } from '../../schemas/well-known.ts';
import type { EndpointGroup } from './endpoint.ts';

const isUp = { status: 'ok' };

export const aboutThisGate = {
  'get-jwks': {
    method: 'GET',
    path: '/.well-known/jwks.json',
    summary: 'Read the public keys that verify PATs',
    description: 'Keys are published before they sign. The response may be cached for five minutes.',
    credential: 'none',
    answer: keySet,
    headers: ['ETag'],
    needs: { kms: ['publicKey'] },
    example: {
      answer: {
        keys: [
          {
            kty: 'EC',
            crv: 'P-256',
            x: 'axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY',
            y: 'T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU',
            kid: 'xx0BcA-wMohw8atYDJOe6peGModklG2wRHBlXHMvl0M',
            alg: 'ES256',
            use: 'sig',
          },
        ],
      },
    },
  },
  'get-health': {
    method: 'GET',
    path: '/health',
    summary: 'Check that the API is up',
    description: 'Does not check the functions behind the API.',
    credential: 'none',
    answer: health,
    constant: () => isUp,
    needs: {},
    example: { answer: isUp },
  },
} as const satisfies EndpointGroup;
