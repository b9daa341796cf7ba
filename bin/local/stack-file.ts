import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { isRunning, readJson, writeJson } from './files.ts';
import type { Person } from './identity.ts';

/** The content of a stack file. */
export interface StackDescription {
  base_url: string;
  /** further addresses */
  other_urls?: string[];
  admin_token: string;
  user_token: string;
  /** for signing in as admin in a browser */
  admin_password: string;
  /** for signing in as user in a browser */
  user_password: string;
  issuer: string;
  client_id: string;
  /** endpoints of stand-ins include the key that they require */
  dynamodb_endpoint: string;
  kms_endpoint: string;
  /** for Cognito operations on users and groups */
  user_pool_endpoint: string;
  user_pool_id: string;
  /** empty without the demo upstream */
  upstream_url: string;
  process_id: number;
  /** hosts on the local network that intents may call */
  local_upstreams?: string[];
  policy_file: string;
}

/** The stack file in the working directory, which npm sets to the project's root. @param port - of a stack that was started beside another one */
export const stackFile = (port = ''): string => resolve('.local', port === '' ? 'stack.json' : `stack-${port}.json`);
const refreshMs = 30 * 60 * 1_000;

/** The description of the running stack, if any. Its tokens are valid for at least half an hour. */
export function readDescription(path = stackFile()): StackDescription | undefined {
  try {
    return readJson(path) as StackDescription | undefined;
  } catch {
    return undefined;
  }
}

export const isStackAt = ({ base_url, other_urls = [] }: StackDescription, address: string): boolean =>
  [base_url, ...other_urls].includes(address);

/** The file that describes the stack at an address, if any. */
export function findStackFile(address: string): string | undefined {
  const files = [stackFile(), stackFile(URL.parse(address)?.port)];
  return files.find((path) => {
    const stack = readDescription(path);
    return stack !== undefined && isStackAt(stack, address);
  });
}

/** The description of another running stack, if any. One at the same address has ended, even if another process has its id by now. */
export function findOther({ process_id, base_url }: Pick<StackDescription, 'process_id' | 'base_url'>): StackDescription | undefined {
  const found = readDescription();
  const isOther = found !== undefined && found.process_id !== process_id && found.base_url !== base_url;
  return isOther && isRunning(found.process_id) ? found : undefined;
}

/**
 * Describes a running stack in a stack file of its own, and keeps its tokens fresh.
 * @returns a function that removes the description, unless another stack has replaced it
 */
export function keepDescribed(description: StackDescription, signIn: (person: Person) => string): () => void {
  const path = stackFile(findOther(description) && new URL(description.base_url).port);
  writeJson(path, description);
  const refresh = () => {
    if (isOurs()) writeJson(path, { ...description, admin_token: signIn('admin'), user_token: signIn('user') });
  };
  const timer = setInterval(refresh, refreshMs);
  const isOurs = () => readDescription(path)?.base_url === description.base_url;
  return () => {
    clearInterval(timer);
    if (isOurs()) rmSync(path);
  };
}
