import * as z from 'zod';
import { addressToRead } from '../address.ts';

/** The query of `GET /api/document`. */
export const documentQuery = z.object({ url: addressToRead.describe('the address of the document') });

export const foundDocument = z
  .strictObject({ document: z.string().describe('as it was found there: JSON or YAML') })
  .meta({ id: 'FoundDocument', description: 'The text of a document at an address.' });
