import { expect, test } from '@jest/globals';
import { buildRequest } from '../../../../functions/core/relay/build-request.ts';
import { withCredential } from '../../../../functions/core/relay/credential.ts';

const values = (query: Record<string, string>, headers: Record<string, string> = {}) => ({ headers, query });

const bytes = Buffer.from([0, 0xff, 0xfe, 0x0d, 0x0a, 0x80]);
const names = ['schlüssel', 'SCHLÜSSEL[]', 'api.key', 'title', 'file'];
const request = buildRequest(
  {
    endpoint: { url: 'https://api.example.com/', method: 'POST', content_type: 'multipart/form-data' },
    input_parameters: names.map((name) => ({ name, type: 'string', ...(name === 'file' && { style: 'base64' }) })),
  },
  { ...Object.fromEntries(names.map((name) => [name, 'theirs'])), title: 'é', file: bytes.toString('base64') },
);

test('a multipart form loses the parts that could be read as a credential, and keeps the others as they are, byte by byte', async () => {
  const ours = values({ schlüssel: 'ours', api_key: 'ours' });
  const { url, body, contentType = '' } = withCredential(request, ours, { ...ours, origins: [] });
  expect(url).toBe('https://api.example.com/?schl%C3%BCssel=ours&api_key=ours');
  const form = await new Response(body as Buffer, { headers: { 'Content-Type': contentType } }).formData();
  expect([...form.keys()]).toEqual(['title', 'file']);
  expect(form.get('title')).toBe('é');
  expect(Buffer.from(await (form.get('file') as File).arrayBuffer())).toEqual(bytes);
});

test('a body of bytes is left alone', () => {
  const whole = { method: 'POST', url: 'https://api.example.com/', contentType: 'image/png', body: bytes } as const;
  const ours = values({ a: 'ours' });
  expect(withCredential(whole, ours, { ...ours, origins: [] })).toEqual({ ...whole, headers: {}, url: 'https://api.example.com/?a=ours' });
});

test.each(['current', 'next'])(
  'with the %s values of a credential, no input goes out under a name that only the other values have',
  (which) => {
    const [current, next] = [values({ tenant: 'ours' }, { 'X-Org': 'ours' }), values({ scope: 'ours' }, { 'X-Team': 'ours' })];
    const theirs = {
      method: 'GET',
      url: 'https://api.example.com/?Tenant=x&scope[]=x&q=1',
      headers: { 'x-org': 'x', x_team: 'x', 'X-Q': '1' },
    } as const;
    const { url, headers } = withCredential(theirs, which === 'next' ? next : current, { ...current, next, origins: [] });
    expect(url).toBe(`https://api.example.com/?q=1&${which === 'next' ? 'scope' : 'tenant'}=ours`);
    expect(headers).toEqual({ 'X-Q': '1' });
    const bare = { method: 'GET', url: 'https://api.example.com/' } as const;
    expect(withCredential(bare, values({}, { 'X-Key': 'ours' }), { ...values({}, { 'X-Key': 'ours' }), next, origins: [] }).url).toBe(
      bare.url,
    );
  },
);
