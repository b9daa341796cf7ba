import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { createServer } from 'node:http';
import { close, listen } from '../../../bin/local/http.ts';
import type { ReceiptFile } from '../../../client/receipts.ts';
import { newUlid } from '../../../functions/core/runtime/ulid.ts';
import { spellEntry, toEntry } from '../../../functions/receipts/entries.ts';
import type { EvidenceKey } from '../../../functions/receipts/evidence-keys.ts';
import { inclusionNote, signCheckpoint, verifierKey } from '../../../functions/receipts/note.ts';
import { openReceiptSigner } from '../../../functions/receipts/signer.ts';
import { extendLog, readInclusion } from '../../../functions/receipts/tiles.ts';

export type EvidenceKeys = Awaited<ReturnType<typeof newEvidenceKeys>>;
export type EvidenceLog = Awaited<ReturnType<typeof buildLog>>;

const parameters = '{"code":"FR"}';
const digestOf = (salt: Buffer, text: string) => createHash('sha256').update(salt).update(text).digest('base64url');

/** The keys of a gate, in the hands of a test, which can therefore rewrite the log. */
export async function newEvidenceKeys(origin = 'intent-gate/log/test') {
  const newKey = (): EvidenceKey => {
    const { privateKey, publicKey: key } = generateKeyPairSync('ed25519');
    const { x = '' } = key.export({ format: 'jwk' });
    const facts = { key, x, kid: x, publicKey: Buffer.from(x, 'base64url') };
    return { read: async () => facts, sign: async (text) => sign(null, text, privateKey) };
  };
  const [certifier, logKey] = [newKey(), newKey()];
  const signer = openReceiptSigner(certifier, Date.now);
  await signer.prepare();
  const { x, kid } = await certifier.read();
  const log = { origin, publicKey: (await logKey.read()).publicKey };
  return {
    certifier,
    log_key: `${verifierKey(log)}\n`,
    jwks: { keys: [{ kty: 'OKP', crv: 'Ed25519', x, kid }] },
    sign: (size: number, root: Uint8Array) => signCheckpoint(log, size, root, logKey.sign),
    /** A receipt as an agent keeps it. */
    issue(answer = '{"name":"France"}', salts = [randomBytes(16), randomBytes(16)] as const): ReceiptFile {
      const claims = {
        iss: 'https://gate.example',
        execution_id: newUlid(),
        time: new Date().toISOString(),
        agent_thumbprint: 'agent',
        policy_digest: 'policy',
        intent_digest: 'intent',
        parameters_digest: digestOf(salts[0], parameters),
        answer_digest: digestOf(salts[1], answer),
        outcome: 'OK',
      };
      return { receipt: signer.sign(claims), salts: salts.map((salt) => salt.toString('base64url')).join('.'), parameters, answer };
    },
  };
}

/** The execution id in a receipt. */
const idOf = ({ receipt }: ReceiptFile): string =>
  JSON.parse(Buffer.from(receipt.split('.')[1] ?? '', 'base64url').toString()).execution_id;

/** The log of these receipts, which has published a checkpoint at each of the sizes (ascending). */
export async function buildLog(keys: EvidenceKeys, receipts: readonly ReceiptFile[], sizes: readonly number[]) {
  const objects = new Map<string, Buffer>();
  const read = async (path: string) => objects.get(path);
  const checkpoints = new Map<number, string>();
  const entries = receipts.map((file) => spellEntry(toEntry(idOf(file), file.receipt)));
  let last = 0;
  for (const size of sizes) {
    const { objects: added, root } = await extendLog(read, last, entries.slice(last, size));
    for (const [path, bytes] of added) objects.set(path, bytes);
    checkpoints.set(size, await keys.sign(size, root));
    last = size;
  }
  const checkpoint = (size = last): string => checkpoints.get(size) ?? '';
  const proofOf = async (index: number, size = last) => inclusionNote(index, await readInclusion(read, index, size), checkpoint(size));
  return {
    read,
    checkpoint,
    /** A receipt with everything that verification needs, without consistency proofs. */
    fileOf: async (index: number, size = last): Promise<ReceiptFile> => {
      const { log_key, jwks } = keys;
      return { ...(receipts[index] as ReceiptFile), proof: await proofOf(index, size), log_key, jwks };
    },
    /** Serves what `receipt save` reads. */
    serve: async () => {
      const server = createServer(async ({ url = '' }, response) => {
        const [, path, id] = /^\/(?:log\/(.*)|api\/executions\/(.*)\/proof)$/.exec(url) ?? [];
        const index = receipts.findIndex((file) => idOf(file) === id);
        const published: Record<string, string> = { key: keys.log_key, 'jwks.json': JSON.stringify(keys.jwks) };
        const body = path === undefined ? await proofOf(index) : (published[path] ?? objects.get(path));
        response.writeHead(body ? 200 : 404).end(body);
      });
      return { url: `http://127.0.0.1:${await listen(server)}`, stop: () => close(server) };
    },
  };
}
