import { RemovalPolicy } from 'aws-cdk-lib';
import type { Settings } from './settings.ts';

/** With the setting `retainData`, data outlives the stack, unless its creation fails: leftovers would block the next attempt. */
export const removalPolicyOf = ({ retainData }: Settings): RemovalPolicy =>
  retainData ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY;

/** Whether AWS refuses to delete the stack and its data. A first deployment omits this so that a failed creation can be rolled back. */
export const isProtected = ({ retainData, unprotected }: Settings): boolean => retainData && !unprotected;
