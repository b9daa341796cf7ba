import * as z from 'zod';

/** The `typ` of receipts, and of the certificates of the keys that sign them. */
export const receiptType = 'execution-receipt+jwt';
export const certificateType = 'receipt-key+jwt';

const digest = z.string().regex(/^[\w-]{43}$/, 'must be a SHA-256 digest in base64url');

/** What a receipt says of an execution. */
export const receiptClaims = z.strictObject({
  /** address of the gate */
  iss: z.string(),
  execution_id: z.string(),
  /** when the call ended */
  time: z.iso.datetime(),
  /** of the agent's key; for people who have signed in, a pseudonym */
  agent_thumbprint: z.string(),
  policy_digest: z.string(),
  intent_digest: z.string(),
  /** salted, of the canonical form (RFC 8785) of the parameters that the agent sent */
  parameters_digest: digest,
  /** salted, of the bytes of the answer that the agent was given first */
  answer_digest: digest,
  /** `OK`, or the code of the error */
  outcome: z.string(),
});

export type ReceiptClaims = z.infer<typeof receiptClaims>;
