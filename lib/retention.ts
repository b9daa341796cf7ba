import { RemovalPolicy } from 'aws-cdk-lib';
import type { Settings } from './settings.ts';

/** With the setting `retainData`, data outlives the stack, except when its creation fails, so that it can be repeated. */
export const removalPolicyOf = ({ retainData }: Settings): RemovalPolicy =>
  retainData ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY;

/** Whether AWS refuses to delete the stack and its data. A first deployment omits this, because a failed creation could not be rolled back. */
export const isProtected = ({ retainData, unprotected }: Settings): boolean => retainData && !unprotected;
