import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, test } from '@jest/globals';
import { close, listen } from '../../bin/local/http.ts';
import { readLines, toLine } from '../../client/lines.ts';
import { makeFolder } from '../support/folder.ts';

const chunksOf = (size: number, written: string): Buffer[] => {
  const bytes = Buffer.from(written);
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.subarray(at * size, (at + 1) * size));
};

const reading = (chunks: Buffer[]) =>
  Array.fromAsync(
    readLines(
      (async function* () {
        yield* chunks;
      })(),
    ),
  );

describe.each([1, 2, 3, 1_000])('in chunks of %s bytes', (size) => {
  test.each<[string, string, string[]]>([
    ['the line separator', 'time\u2028zone\nnext\n', ['time\u2028zone', 'next']],
    ['the paragraph separator', 'a\u2029b\n', ['a\u2029b']],
    ['NEL, vertical tab and form feed', 'a\u0085b\vc\fd\n', ['a\u0085b\vc\fd']],
    ['a carriage return', 'a\rb\n', ['a\rb']],
    ['characters of two, three and four bytes', 'é€😀\n😀\n', ['é€😀', '😀']],
  ])('text with %s is not divided there', async (_, written, lines) => {
    expect(await reading(chunksOf(size, written))).toEqual(lines);
  });

  test.each<[string, string, string[]]>([
    ['that end at LF', 'a\nb\n', ['a', 'b']],
    ['that end at CRLF', 'a\r\nb\r\n', ['a', 'b']],
    ['of which the last ends with the input', 'a\nb', ['a', 'b']],
    ['of which one is empty', 'a\n\nb\n', ['a', '', 'b']],
    ['of an empty input', '', []],
  ])('messages are read from lines %s', async (_, written, lines) => {
    expect(await reading(chunksOf(size, written))).toEqual(lines);
  });
});

test('a written line contains no separator, and parses to the same message', () => {
  const message = { result: { text: 'a\u2028b\u2029c\r\n\u0085', '\u2028': 1 } };
  const line = toLine(message);
  expect(line).toMatch(/^[^\n\u2028\u2029]+\n$/);
  expect(JSON.parse(line)).toEqual(message);
});

describe('the bridge', () => {
  /** A gate that answers each message with its own params. */
  const gate = createServer(async (request, response) => {
    const { id, params } = JSON.parse(await text(request));
    response
      .setHeader('Content-Type', 'application/json')
      .end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${JSON.stringify(params)}}`);
  });
  const folder = makeFolder();
  const children: ChildProcess[] = [];
  afterAll(async () => {
    for (const child of children) child.kill();
    await close(gate);
  });

  test.each([
    ['intent-gate mcp', [resolve('bin/intent-gate.js'), 'mcp']],
    ['intent-gate-mcp', [resolve('client/mcp-stdio.ts')]],
  ])('%s answers messages with separators in their texts', async (_, program) => {
    const port = gate.listening ? (gate.address() as { port: number }).port : await listen(gate);
    const child = spawn(process.execPath, [...program, `http://127.0.0.1:${port}`, '--folder', folder], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    children.push(child);
    const texts = ['time\u2028zone', 'a\u2029b', 'both \u2028\u2029 and 😀', 'none'];
    const lines = texts.map((said, id) => JSON.stringify({ jsonrpc: '2.0', id, method: 'ping', params: { said } }));
    for (const chunk of chunksOf(7, `${lines.join('\r\n')}\n`)) child.stdin.write(chunk);
    child.stdin.end();
    const written = await text(child.stdout);
    expect(written).not.toMatch(/[\u2028\u2029]/);
    const answers = written
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
      .sort((a, b) => a.id - b.id);
    expect(answers).toEqual(texts.map((said, id) => ({ jsonrpc: '2.0', id, result: { said } })));
  });
});
