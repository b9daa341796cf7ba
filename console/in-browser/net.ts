/** The parts of `node:net` that classify addresses. */
export const isIPv4 = (text: string): boolean => /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/.test(text);

export const isIPv6 = (text: string): boolean => /^[0-9a-f:.]+$/i.test(text) && URL.canParse(`http://[${text}]`);

export const isIP = (text: string): 0 | 4 | 6 => (isIPv4(text) ? 4 : isIPv6(text) ? 6 : 0);

/** An address as binary digits; IPv6 addresses in any spelling. */
function digitsOf(address: string): string {
  if (isIPv4(address))
    return address
      .split('.')
      .map((byte) => Number(byte).toString(2).padStart(8, '0'))
      .join('');
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const [before, after] = [head, tail ?? ''].map((part) => part.split(':').filter((group) => group !== '')) as [string[], string[]];
  const groups = [...before, ...new Array<string>(8 - before.length - after.length).fill('0'), ...after];
  return groups.map((group) => Number.parseInt(group, 16).toString(2).padStart(16, '0')).join('');
}

export class BlockList {
  readonly #ranges: { family: string; prefix: string }[] = [];

  addSubnet(network: string, bits: number, family: string): void {
    this.#ranges.push({ family, prefix: digitsOf(network).slice(0, bits) });
  }

  check(address: string, family: string): boolean {
    return this.#ranges.some((range) => range.family === family && digitsOf(address).startsWith(range.prefix));
  }
}
