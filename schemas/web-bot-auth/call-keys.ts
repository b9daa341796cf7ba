import * as z from 'zod';

/** The public keys that verify calls, as a JWK set. */
export const callKeySet = z
  .strictObject({
    keys: z.array(
      z.strictObject({
        kty: z.literal('OKP'),
        crv: z.literal('Ed25519'),
        x: z.string(),
        kid: z.string(),
        alg: z.literal('EdDSA'),
        use: z.literal('sig'),
      }),
    ),
  })
  .meta({ id: 'CallKeySet', description: 'The public keys that verify calls, as a JWK set; the first one signs.' });
