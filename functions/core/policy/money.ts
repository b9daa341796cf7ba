/** ISO 4217 currencies in use, by the number of digits of their minor units. */
const codes: Record<number, string> = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  2: [
    'AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY COP COU CRC CUP',
    'CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK',
    'LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD',
    'RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XCD XCG',
    'YER ZAR ZMW ZWG',
  ].join(' '),
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
};

const digitsOf = new Map(Object.entries(codes).flatMap(([digits, list]) => list.split(' ').map((code) => [code, Number(digits)] as const)));

export const isCurrency = (code: string): boolean => digitsOf.has(code);

/** Digits of a currency's minor unit: 2 for EUR, 0 for JPY. */
export const minorDigits = (code: string): number => digitsOf.get(code) ?? 2;

/** A decimal from minor units: 50 of EUR is 0.50. */
export function formatMoney(minor: number, code: string): string {
  const digits = minorDigits(code);
  if (digits === 0) return String(minor);
  const text = String(minor).padStart(digits + 1, '0');
  return `${text.slice(0, -digits)}.${text.slice(-digits)}`;
}
