/** The part of a Lambda environment that asks for work: imports the bundle `argv[2]` and answers one invocation over the Runtime API. */
import http from 'node:http';

const [host, port] = (process.env.AWS_LAMBDA_RUNTIME_API ?? '').split(':');

const send = (method, path, headers = {}, body = undefined) =>
  new Promise((resolve, reject) => {
    const request = http.request({ host, port, method, path: `/2018-06-01/runtime${path}`, headers }, async (response) => {
      const chunks = await Array.fromAsync(response);
      resolve({ headers: response.headers, body: Buffer.concat(chunks).toString() });
    });
    request.on('error', reject);
    request.end(body);
  });

const { handler } = await import(process.argv[2]);
const invocation = await send('GET', '/invocation/next');
const requestId = invocation.headers['lambda-runtime-aws-request-id'];
const remaining = () => Number(invocation.headers['lambda-runtime-deadline-ms']) - Date.now();
const answer = await handler(JSON.parse(invocation.body), { awsRequestId: requestId, getRemainingTimeInMillis: remaining });
const memory = { 'X-Memory-Bytes': process.memoryUsage().rss };
await send('POST', `/invocation/${requestId}/response`, memory, JSON.stringify(answer));
process.exit(0);
