import * as z from 'zod';

/**
 * Normalises a header name for comparison: ignores case, and treats all characters except letters and digits alike, because some servers
 * read `X_Api_Key` as `X-Api-Key`.
 */
export const foldHeaderName = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '-');

const carried =
  'accept(-encoding)?|user-agent|x-request-id|execution-id|agent-(id|key|domain)|intent-uid|idempotency-key|signature(-(input|agent))?|trace(parent|state)';
const steering = 'host|connection|keep-alive|te|trailer|upgrade|expect|http2-settings|(content|transfer|proxy)(-.*)?';
const posing = 'cookie2?|forwarded|via|x-forwarded(-.*)?|x-real-ip|x-http-method(-override)?|x-method-override|x-(original|rewrite)-url';
const reserved = new RegExp(`^(${carried}|${steering}|${posing})$`);

/** A header that a credential may set: not one that the gate sets itself, that controls the connection, or that misrepresents the call. */
export const headerName = z
  .string()
  .max(100)
  .regex(/^[\w!#$%&'*+.^`|~-]+$/, 'must be the name of a header field, for example Authorization')
  .refine(
    (name) => !reserved.test(foldHeaderName(name)),
    'must not be a header field that calls already carry or that controls the connection or the call',
  );

export const publicHeaderName = headerName.refine(
  (name) => foldHeaderName(name) !== 'authorization',
  "must not be Authorization, which belongs to the service's credential",
);

export const headerValue = z
  .string()
  .max(4096)
  .regex(/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/, 'must be visible ASCII characters and spaces between them');

/** Fields of answers that carry credentials, control the connection, describe the content as sent, or have the name of one that the gate adds. */
const withheld =
  /^(set-cookie2?|authorization|(www|proxy)-authenticate|(proxy-)?authentication-info|connection|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*|content-(type|length|encoding)|status|cut)$/;

/** A header field of answers that callers may get as `Upstream-<name>`. */
export const answerHeaderName = z
  .string()
  .max(100)
  .regex(/^[\w-]+$/, 'must be the name of a header field, for example X-Total-Count')
  .refine(
    (name) => !withheld.test(name.toLowerCase()),
    'must not be a header field that carries credentials, or that the gate reads itself',
  );

/** Named values whose names no server could confuse. */
export const namedValues = <Name extends z.ZodType<string>>(name: Name, value: z.ZodType<string>, fold: (name: string) => string) =>
  z.record(z.string(), value).superRefine((given, context) => {
    const seen = new Set<string>();
    for (const key of Object.keys(given)) {
      for (const { message } of name.safeParse(key).error?.issues ?? []) context.addIssue({ code: 'custom', path: [key], message });
      if (seen.has(fold(key))) context.addIssue({ code: 'custom', path: [key], message: 'must not repeat a name in another spelling' });
      seen.add(fold(key));
    }
  });

export const publicHeaders = namedValues(publicHeaderName, headerValue, foldHeaderName)
  .refine((fields) => Object.keys(fields).length <= 10, 'must have at most 10 header fields')
  .meta({ description: 'header fields sent with every call; they are public, so they must not contain secrets' });

/** The header Import-Id, chosen by the program that imports a service, and sent with each of its requests. */
export const importIdPattern = /^[\w-]{1,64}$/;
export const importIdProblem = 'must be at most 64 letters, digits, - and _';
