import * as z from 'zod';

/** The media type of a part of a multipart form. Without parameters, because agents may write the text of a part. */
export const partMediaType = z
  .string()
  .max(200)
  .regex(/^[a-z0-9.+-]+\/[a-z0-9.+-]+$/i, 'must be a media type without parameters, for example application/json');

/**
 * A media type that the caller of an intent chooses: never one that servers may read as a form, because nothing would remove a repeated credential
 * from it.
 */
export const chosenMediaType = partMediaType.regex(/^(?!multipart\/|.*urlencoded)/i, 'must not be the type of a form');

const token = '[A-Za-z0-9.+-]+';
const parameter = ` *; *${token}=(?:${token}|"[ !#-\\[\\]-~]*")`;
const range = `(?:${token}|\\*)/(?:${token}|\\*)(?:${parameter})*`;

/** The value of `Accept` (RFC 9110 section 12.5.1). */
export const acceptedMediaTypes = z
  .string()
  .max(500)
  .regex(new RegExp(`^${range}(?:, *${range})*$`), 'must be media types separated by commas, for example text/csv, */*;q=0.1');

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
