/** The process of {@link ./identity.ts}: cognito-local with a signing key of its own. Ends with the process that started it. */
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire, Module } from 'node:module';
import type { AddressInfo, Server } from 'node:net';

process.once('disconnect', () => process.exit());

const require = createRequire(import.meta.url);
const { key }: { key: string } = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'));

// Two SDKs that the package loads for triggers, which this pool has none of. They take much of its memory and its start.
const requireThere = createRequire(require.resolve('cognito-local'));
for (const [name, exports] of Object.entries({
  'aws-sdk': { Lambda: class {} },
  '@aws-crypto/client-node': { CommitmentPolicy: {}, buildClient: () => ({}) },
})) {
  const path = requireThere.resolve(name);
  require.cache[path] = Object.assign(new Module(path), { exports, loaded: true });
}

// The package comes with one key pair for everybody, with which anyone could write admin tokens.
const publicKey = require('cognito-local/lib/keys/cognitoLocal.public.json');
const privateKey = require('cognito-local/lib/keys/cognitoLocal.private.json');
privateKey.pem = key;
const { n, e } = createPublicKey(createPrivateKey(key)).export({ format: 'jwk' });
Object.assign(publicKey.jwk, { n, e });

const { createDefaultServer } = require('cognito-local/lib/server') as {
  createDefaultServer(logger: unknown): Promise<{ start(): Promise<Server> }>;
};
const silent: unknown = requireThere('pino')({ level: 'silent' });
const server = await (await createDefaultServer(silent)).start();
process.send?.((server.address() as AddressInfo).port);
