import { expect, test } from '@jest/globals';
import { buildRequest } from '../../../../functions/core/relay/build-request.ts';
import { withCredentialQuery } from '../../../../functions/core/relay/credential.ts';

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
  const { url, body, contentType = '' } = withCredentialQuery(request, { query: { schlüssel: 'ours', api_key: 'ours' } });
  expect(url).toBe('https://api.example.com/?schl%C3%BCssel=ours&api_key=ours');
  const form = await new Response(body as Buffer, { headers: { 'Content-Type': contentType } }).formData();
  expect([...form.keys()]).toEqual(['title', 'file']);
  expect(form.get('title')).toBe('é');
  expect(Buffer.from(await (form.get('file') as File).arrayBuffer())).toEqual(bytes);
});

test('a body of bytes is left alone', () => {
  const whole = { method: 'POST', url: 'https://api.example.com/', contentType: 'image/png', body: bytes } as const;
  expect(withCredentialQuery(whole, { query: { a: 'ours' } })).toEqual({ ...whole, url: 'https://api.example.com/?a=ours' });
});
