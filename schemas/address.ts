import * as z from 'zod';

/** An address that an admin lets the gate read. */
export const addressToRead = z
  .string()
  .max(2_048)
  .regex(/^https?:\/\/[^\s{}#]+$/i, 'must be an http or https address without a fragment');
