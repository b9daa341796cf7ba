import { createHmac } from 'node:crypto';
import { openCallKeys } from '../../../functions/web-bot-auth/call-keys.ts';

/** Keys that sign calls, from a key of their own in place of one in KMS. */
export const makeCallKeys = (secret = 'test', now?: () => number) =>
  openCallKeys({ generateMac: async (_, message) => createHmac('sha256', secret).update(message).digest() }, 'call-key', now);
