import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { parseExact } from '../../schemas/number.ts';

/** A value as gzipped JSON, in which numbers keep every digit. */
export const pack = (value: unknown): Promise<Uint8Array> => promisify(gzip)(JSON.stringify(value));

export const unpack = async (bytes: Uint8Array): Promise<unknown> => parseExact((await promisify(gunzip)(bytes)).toString('utf8'));
