import * as z from 'zod';

/** The `typ` of receipts, and of the certificates of the keys that sign them. */
export const receiptType = 'execution-receipt+jwt';
export const certificateType = 'receipt-key+jwt';

const digest = z.string().regex(/^[\w-]{43}$/, 'must be a SHA-256 digest in base64url');

/** The claims of a receipt. */
export const receiptClaims = z.strictObject({
  /** address of the gate */
  iss: z.string(),
  execution_id: z.string(),
  /** when the call ended */
  time: z.iso.datetime(),
  /** thumbprint of the agent's key; for signed-in people, a pseudonym */
  agent_thumbprint: z.string(),
  policy_digest: z.string(),
  intent_digest: z.string(),
  /** salted digest of the canonical form (RFC 8785) of the parameters that the agent sent */
  parameters_digest: digest,
  /** salted digest of the bytes of the first response that the agent got */
  answer_digest: digest,
  /** `OK`, or the code of the error */
  outcome: z.string(),
});

export type ReceiptClaims = z.infer<typeof receiptClaims>;
