import { jest } from '@jest/globals';

/** The lines that are logged from now on, until mocks are restored. */
export function captureLog(): string[] {
  const lines: string[] = [];
  jest.replaceProperty(process.env, 'LOG_LEVEL', 'INFO');
  for (const stream of [process.stdout, process.stderr])
    jest.spyOn(stream, 'write').mockImplementation((text) => lines.push(String(text).replace(/\n$/, '')) > 0);
  return lines;
}
