import type { CallSigner } from '../core/relay/headers.ts';
import { type CallKeys, callKeysFromEnvironment } from './call-keys.ts';
import { signCall } from './signature.ts';

/** Signs each call with the current key. */
export const openCallSigner =
  (callKeys: Pick<CallKeys, 'signing'>): CallSigner =>
  async () => {
    const key = await callKeys.signing();
    return (call) => signCall(call, key);
  };

export const callSignerFromEnvironment = (): CallSigner => openCallSigner(callKeysFromEnvironment());
