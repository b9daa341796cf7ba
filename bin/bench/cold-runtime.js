/** The part of a Lambda environment that asks for work: imports the bundle `argv[2]` and answers one invocation over the Runtime API. */
import { once } from 'node:events';
import http from 'node:http';

const [host, port] = (process.env.AWS_LAMBDA_RUNTIME_API ?? '').split(':');

async function send(method, path, headers = {}, body = undefined) {
  const request = http.request({ host, port, method, path: `/2018-06-01/runtime${path}`, headers }).end(body);
  const [response] = await once(request, 'response');
  return { headers: response.headers, body: Buffer.concat(await Array.fromAsync(response)).toString() };
}

const { handler } = await import(process.argv[2]);
const invocation = await send('GET', '/invocation/next');
const requestId = invocation.headers['lambda-runtime-aws-request-id'];
const remaining = () => Number(invocation.headers['lambda-runtime-deadline-ms']) - Date.now();
const answer = await handler(JSON.parse(invocation.body), { awsRequestId: requestId, getRemainingTimeInMillis: remaining });
const memory = { 'X-Memory-Bytes': process.memoryUsage().rss };
await send('POST', `/invocation/${requestId}/response`, memory, JSON.stringify(answer));
process.exit(0);
