import { withoutHidden } from '../../schemas/text.ts';

/** What an issuer says about a refusal (RFC 6749 section 5.2), or what the gate says if it cannot be reached. It contains no secret. */
export interface IssuerWords {
  error?: string | undefined;
  description?: string | undefined;
}

/** A request for a token that was not successful. */
export class IssuerFailure extends Error {
  override readonly name = 'IssuerFailure';
  /** `unsent`, `refused`: the issuer has not acted; `unknown`: it may have, so that a refresh token may be used up */
  readonly outcome: 'unsent' | 'refused' | 'unknown';
  readonly words: IssuerWords;

  constructor(outcome: IssuerFailure['outcome'], { cause, ...words }: IssuerWords & { cause?: unknown }) {
    super('the issuer has issued no token', { cause });
    this.outcome = outcome;
    this.words = words;
  }
}

const maxLength = 300;

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

const shorten = (text: string): string => withoutHidden(text.replace(/\s+/g, ' ').toWellFormed()).trim().slice(0, maxLength);

/**
 * The words of an issuer, bounded, in one line.
 * @param hide - removes secrets, which issuers may repeat
 */
export function wordsOf(answer: Record<string, unknown>, hide: (text: string) => string = (text) => text): IssuerWords {
  const { error, error_description: description } = answer;
  return {
    ...(isText(error) && { error: shorten(hide(error)) }),
    ...(isText(description) && { description: shorten(hide(description)) }),
  };
}
