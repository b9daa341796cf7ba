/**
 * The minimum work of an execution in plain Node: a signed read and a signed update of DynamoDB, an upstream call and a signature check. Packaged
 * like a function's bundle, so that it is measured in the same way.
 */
const { createHash, createHmac, createPublicKey, createSecretKey, verify } = require('node:crypto');
const { Agent, request } = require('node:http');

const agent = new Agent({ keepAlive: true });
const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION } = process.env;

const post = (url, headers, body) =>
  new Promise((resolve, reject) => {
    request(url, { agent, method: 'POST', headers: { ...headers, 'Content-Length': Buffer.byteLength(body) } })
      .on('response', (response) => {
        const chunks = [];
        response
          .on('data', (chunk) => chunks.push(chunk))
          .on('error', reject)
          .on('end', () => {
            const text = Buffer.concat(chunks).toString();
            if (response.statusCode === 200) resolve(JSON.parse(text));
            else reject(new Error(`${url} answered ${response.statusCode}: ${text}`));
          });
      })
      .on('error', reject)
      .end(body);
  });

const sha256 = (text) => createHash('sha256').update(text).digest('hex');
const hmac = (key, text) => createHmac('sha256', key).update(text).digest();

let signingKey = { day: '' };

function keyOf(day) {
  if (signingKey.day !== day) {
    const bytes = [day, AWS_REGION, 'dynamodb', 'aws4_request'].reduce(hmac, `AWS4${AWS_SECRET_ACCESS_KEY}`);
    signingKey = { day, key: createSecretKey(bytes) };
  }
  return signingKey.key;
}

/** Signature Version 4 with the fewest headers that DynamoDB accepts. */
function callDynamo(url, { operation, body }) {
  const date = new Date().toISOString().replace(/-|:|\.\d+/g, '');
  const signed = {
    host: new URL(url).host,
    'x-amz-date': date,
    ...(AWS_SESSION_TOKEN && { 'x-amz-security-token': AWS_SESSION_TOKEN }),
    'x-amz-target': `DynamoDB_20120810.${operation}`,
  };
  const names = Object.keys(signed).join(';');
  const lines = Object.entries(signed).map(([name, value]) => `${name}:${value}\n`);
  const canonical = `POST\n/\n\n${lines.join('')}\n${names}\n${sha256(body)}`;
  const scope = `${date.slice(0, 8)}/${AWS_REGION}/dynamodb/aws4_request`;
  const signature = hmac(keyOf(date.slice(0, 8)), `AWS4-HMAC-SHA256\n${date}\n${scope}\n${sha256(canonical)}`).toString('hex');
  const Authorization = `AWS4-HMAC-SHA256 Credential=${AWS_ACCESS_KEY_ID}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
  return post(url, { ...signed, Authorization, 'Content-Type': 'application/x-amz-json-1.0' }, body);
}

let publicKey;

/** @param call - sends a request to DynamoDB */
exports.executeWith =
  (call) =>
  async ({ dynamoUrl, read, update, upstream, token, jwk }) => {
    const [header, claims, signature] = token.split('.');
    publicKey ??= createPublicKey({ key: jwk, format: 'jwk' });
    const key = { key: publicKey, dsaEncoding: 'ieee-p1363' };
    if (!verify('sha256', Buffer.from(`${header}.${claims}`), key, Buffer.from(signature, 'base64url'))) throw new Error('wrong signature');
    await call(dynamoUrl, read);
    const answer = await post(upstream.url, upstream.headers, upstream.body);
    await call(dynamoUrl, update);
    return { statusCode: 200, body: JSON.stringify(answer) };
  };

exports.handler = exports.executeWith(callDynamo);
