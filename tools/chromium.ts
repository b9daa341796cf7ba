import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium } from 'playwright-core';

const candidates = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome', '/usr/bin/google-chrome-stable'];

/** The path of Chromium on this machine; `CHROMIUM` overrides it. */
export const chromiumPath = [process.env.CHROMIUM ?? '', ...candidates].find((path) => path !== '' && existsSync(path));

export interface Browser {
  context: BrowserContext;
  requests: string[];
  /** warnings and errors in the pages' consoles, and uncaught errors */
  complaints: string[];
  close(): Promise<void>;
}

type Options = NonNullable<Parameters<typeof chromium.launchPersistentContext>[1]>;

/**
 * Starts Chromium with a fresh profile. It can reach only this machine.
 * @param options.names - host names to resolve to this machine
 */
export async function startBrowser({ names = [], ...options }: Options & { names?: readonly string[] } = {}): Promise<Browser> {
  const profile = mkdtempSync(join(tmpdir(), 'chromium-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: chromiumPath ?? '',
    headless: true,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      `--host-resolver-rules=${[...names.map((name) => `MAP ${name} 127.0.0.1`), 'MAP * ~NOTFOUND', 'EXCLUDE 127.0.0.1'].join(', ')}`,
    ],
    ...options,
  });
  const requests: string[] = [];
  const complaints: string[] = [];
  context.on('request', (request) => requests.push(request.url()));
  context.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  context.on('weberror', (error) => complaints.push(error.error().message));
  return {
    context,
    requests,
    complaints,
    close: async () => {
      await context.close();
      rmSync(profile, { recursive: true, force: true });
    },
  };
}
