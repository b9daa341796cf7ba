import { generateKeyPairSync, sign } from 'node:crypto';

const der = (tag: number, ...contents: Uint8Array[]): Buffer => {
  const content = Buffer.concat(contents);
  const size = content.length < 0x80 ? [content.length] : [0x82, content.length >> 8, content.length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
};
const sequence = (...contents: Uint8Array[]) => der(0x30, ...contents);
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));
const time = (yearOffset: number) => {
  const date = new Date();
  date.setUTCFullYear(date.getUTCFullYear() + yearOffset);
  return der(0x17, Buffer.from(`${date.toISOString().replace(/[-:T]/g, '').slice(2, 14)}Z`));
};
const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'));
const subjectAltName = oid('551d11');
const commonName = oid('550403');

/** A fresh self-signed certificate (RFC 5280) for a host name, and its key, both in PEM. */
export function makeCertificate(hostname: string): { cert: string; key: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(der(0x31, sequence(commonName, der(0x0c, Buffer.from(hostname)))));
  const alternativeNames = sequence(subjectAltName, der(0x04, sequence(der(0x82, Buffer.from(hostname)))));
  const content = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    ecdsaWithSha256,
    name,
    sequence(time(-1), time(1)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(alternativeNames)),
  );
  const certificate = sequence(content, ecdsaWithSha256, der(0x03, Buffer.from([0]), sign('sha256', content, privateKey)));
  const cert = `-----BEGIN CERTIFICATE-----\n${certificate.toString('base64')}\n-----END CERTIFICATE-----\n`;
  return { cert, key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })) };
}
