import { createHash, createHmac } from 'node:crypto';

export interface AwsCredentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

export interface UnsignedRequest {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body: string;
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
const keyed = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** The credentials that Lambda gives to a function. */
export const awsCredentialsFromEnvironment = (
  {
    AWS_ACCESS_KEY_ID: accessKeyId = '',
    AWS_SECRET_ACCESS_KEY: secretAccessKey = '',
    AWS_SESSION_TOKEN: sessionToken,
  }: NodeJS.ProcessEnv = process.env,
): AwsCredentials => ({ accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) });

/**
 * The headers that sign a request for AWS (Signature Version 4). Every header given is signed, and the host.
 * @param url - its path and query must need no further encoding
 */
export function signRequest(
  { method, url, headers, body }: UnsignedRequest,
  { service, region, credentials, time }: { service: string; region: string; credentials: AwsCredentials; time: Date },
): Record<string, string> {
  const stamp = time.toISOString().replace(/[-:]|\.\d{3}/g, '');
  const date = stamp.slice(0, 8);
  const signed: Record<string, string> = {
    ...headers,
    host: url.host,
    'x-amz-date': stamp,
    ...(credentials.sessionToken && { 'x-amz-security-token': credentials.sessionToken }),
  };
  const names = Object.keys(signed).sort();
  const query = [...url.searchParams].map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).sort();
  const canonical = [
    method,
    url.pathname,
    query.join('&'),
    ...names.map((name) => `${name}:${signed[name]?.trim()}`),
    '',
    names.join(';'),
    headers['x-amz-content-sha256'] ?? digest(body),
  ].join('\n');
  const scope = `${date}/${region}/${service}/aws4_request`;
  const key = [date, region, service, 'aws4_request'].reduce<string | Buffer>(keyed, `AWS4${credentials.secretAccessKey}`);
  const signature = keyed(key, ['AWS4-HMAC-SHA256', stamp, scope, digest(canonical)].join('\n')).toString('hex');
  const { host: _, ...sent } = signed;
  return {
    ...sent,
    authorization: `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
  };
}

/** The SHA-256 digest of a body as `x-amz-content-sha256` states it. */
export const contentDigest = digest;
