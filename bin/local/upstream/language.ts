export type Notation = 'standard' | 'compact' | 'scientific' | 'engineering';

export function formatNumber(number: number, language: string, notation: Notation, digits: number | undefined) {
  const format = new Intl.NumberFormat(language, { notation, minimumFractionDigits: digits, maximumFractionDigits: digits });
  return { text: format.format(number), numbering_system: format.resolvedOptions().numberingSystem };
}

export type CurrencyDisplay = 'symbol' | 'narrowSymbol' | 'code' | 'name';

export function formatMoney(amount: number, currency: string, language: string, display: CurrencyDisplay, isAccounting: boolean) {
  const format = new Intl.NumberFormat(language, {
    style: 'currency',
    currency,
    currencyDisplay: display,
    currencySign: isAccounting ? 'accounting' : 'standard',
  });
  return { text: format.format(amount), decimal_places: format.resolvedOptions().maximumFractionDigits };
}

export function choosePlural(number: number, language: string, type: Intl.PluralRuleType) {
  const rules = new Intl.PluralRules(language, { type });
  return { category: rules.select(number), categories: rules.resolvedOptions().pluralCategories };
}

export type Sensitivity = 'base' | 'accent' | 'case' | 'variant';

export function sortTexts(texts: string[], language: string, isNumeric: boolean, sensitivity: Sensitivity) {
  const collator = new Intl.Collator(language, { numeric: isNumeric, sensitivity });
  return { sorted: texts.toSorted(collator.compare), language: collator.resolvedOptions().locale };
}

export const joinTexts = (texts: string[], language: string, type: Intl.ListFormatType) => ({
  text: new Intl.ListFormat(language, { type }).format(texts),
});

export function countText(text: string, language: string) {
  const segments = (granularity: 'grapheme' | 'word' | 'sentence') => [...new Intl.Segmenter(language, { granularity }).segment(text)];
  return {
    characters: segments('grapheme').length,
    words: segments('word').filter(({ isWordLike }) => isWordLike).length,
    sentences: segments('sentence').filter(({ segment }) => segment.trim() !== '').length,
    code_points: [...text].length,
    bytes: Buffer.byteLength(text),
  };
}
