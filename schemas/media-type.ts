import * as z from 'zod';

/** The media type of a part of a multipart form. Without parameters, because agents may write the text of a part. */
export const partMediaType = z
  .string()
  .max(200)
  .regex(/^[a-z0-9.+-]+\/[a-z0-9.+-]+$/i, 'must be a media type without parameters, for example application/json');

const token = '[A-Za-z0-9.+-]+';
const parameter = ` *; *${token}=(?:${token}|"[ !#-\\[\\]-~]*")`;

/**
 * The media type of a body. Only JSON may have parameters of any kind: servers search them for a boundary or a charset, and would read a text as a
 * form in which nothing has removed a repeated credential.
 */
export const bodyMediaType = z
  .string()
  .max(200)
  .regex(
    new RegExp(
      `^(?:application/(?:[a-z0-9.-]+\\+)?json(?:${parameter})*|${token}/${token}(?: *; *charset=(?:(?:utf|UTF)-8|"(?:utf|UTF)-8"))?)$`,
      'i',
    ),
    'must be a media type. JSON may have parameters, others only charset=utf-8',
  )
  .refine(
    (text) => !/^(?:"[^"]*"|[^"])*?; *charset=(?!(?:utf-8|"utf-8") *(?:;|$))/i.test(text),
    'must not have a charset other than utf-8, in which bodies are sent',
  );
