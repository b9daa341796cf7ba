import * as z from 'zod';
import { foldQueryName } from './credential.ts';
import { clientInput } from './features.ts';
import { foldHeaderName, headerName, headerValue, namedValues } from './header.ts';

const maxValues = 5;

const queryName = z
  .string()
  .max(100)
  .regex(/^[\x21-\x7e]+$/, 'must be the name of a query parameter in visible ASCII characters')
  .regex(/^[^[\]]*$/, 'must not contain brackets');

const queryValue = z
  .string()
  .min(1, 'must not be empty')
  .max(4096)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: tools in languages without \p{Cc} read this in the OpenAPI document
  .regex(/^[^\u0000-\u001f\u007f-\u009f]*$/, 'must not contain control characters');

const values = {
  headers: namedValues(headerName, headerValue, foldHeaderName).optional().meta({ description: 'values of header fields, by name' }),
  query: namedValues(queryName, queryValue, foldQueryName).optional().meta({ description: 'values of query parameters, by name' }),
};

type Values = { headers?: Record<string, string> | undefined; query?: Record<string, string> | undefined };

const countOf = ({ headers = {}, query = {} }: Values): number => Object.keys(headers).length + Object.keys(query).length;

const tooMany = `must have at most ${maxValues} values, headers and query together`;

const nextValues = z
  .strictObject(values)
  .refine((next) => countOf(next) > 0, 'must have headers or query')
  .refine((next) => countOf(next) <= maxValues, tooMany)
  .meta({
    description: 'the next values, for a rotation: if the upstream answers 401 to the current ones, the call is repeated once with these',
  });

/** The body that gives a service a credential: `header_name` and `header_value` are short for `headers` with one field. */
export const credentialInput = z
  .strictObject({
    ...values,
    origins: z.array(z.string().max(2048)).min(1, 'must name an origin').max(10, 'must name at most 10 origins').optional().meta({
      description: 'origins to which the credential is sent, such as https://api.example.com; default: the origin of service_url',
    }),
    next: nextValues.optional(),
    header_name: headerName.optional(),
    header_value: headerValue.optional(),
    oauth: clientInput
      .optional()
      .meta({ description: 'the gate obtains tokens as this client, and sends them in addition to headers and query' }),
  })
  .superRefine((input, context) => {
    const refuse = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
    const isSingle = input.header_name !== undefined || input.header_value !== undefined;
    if (isSingle && input.header_name === undefined) refuse(['header_name'], 'is required with header_value');
    if (isSingle && input.header_value === undefined) refuse(['header_value'], 'is required with header_name');
    if (isSingle && (input.headers ?? input.query)) refuse(['header_name'], 'must be left out if headers or query is given');
    if (!isSingle && countOf(input) === 0 && !input.oauth) refuse([], 'must have headers, query or oauth');
    if (countOf(input) > maxValues) refuse([], tooMany);
  })
  .meta({
    id: 'CredentialInput',
    description: 'The header fields and query parameters sent with calls of a service, and the origins that receive them.',
  });

export type CredentialInput = z.infer<typeof credentialInput>;
