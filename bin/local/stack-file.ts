import { mkdirSync, rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { readJson, writeJson } from './files.ts';
import type { RunningStack, StackDescription } from './stack.ts';

/** In the working folder, which npm makes the project's root. */
const path = resolve('.local', 'stack.json');
const refreshMs = 30 * 60 * 1_000;

/** The description of the stack that runs here, if one does. Its tokens are valid for at least half an hour. */
export const readDescription = (): StackDescription | undefined => readJson(path) as StackDescription | undefined;

/**
 * Describes a running stack in `.local/stack.json`, with tokens that are kept fresh.
 * @returns a function that removes the description, unless another stack has written its own
 */
export function keepDescribed({ definitionOf, signIn, stop, ...description }: RunningStack): () => void {
  mkdirSync(dirname(path), { recursive: true });
  writeJson(path, description);
  const refresh = async () => {
    const [admin_token, user_token] = await Promise.all([signIn('admin'), signIn('user')]);
    if (isOurs()) writeJson(path, { ...description, admin_token, user_token });
  };
  const timer = setInterval(() => refresh().catch(console.error), refreshMs);
  const isOurs = () => readDescription()?.base_url === description.base_url;
  return () => {
    clearInterval(timer);
    if (isOurs()) rmSync(path);
  };
}
