import * as z from 'zod';

/** A JSON pointer (RFC 6901) to a member. */
export const jsonPointer = z
  .string()
  .max(1_000)
  .regex(/^(?:\/(?:[^~/]|~[01])*)+$/, 'must be a JSON pointer, for example /name');

/** JSON pointers to members of a response; in an array, a name selects that member of every item. */
export const jsonPointers = z
  .array(jsonPointer)
  .min(1, 'must have at least one JSON pointer')
  .max(50, 'must have at most 50 JSON pointers');
