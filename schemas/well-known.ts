import * as z from 'zod';

/** The public keys that verify PATs, as a JWK set (RFC 7517 section 5). */
export const keySet = z
  .strictObject({
    keys: z.array(
      z.strictObject({
        kty: z.literal('EC'),
        crv: z.literal('P-256'),
        x: z.string(),
        y: z.string(),
        kid: z.string(),
        alg: z.literal('ES256'),
        use: z.literal('sig'),
      }),
    ),
  })
  .meta({ id: 'KeySet', description: 'The public keys that verify PATs, as a JWK set; the first one signs.' });

export const health = z.strictObject({ status: z.literal('ok') }).meta({ id: 'Health' });
