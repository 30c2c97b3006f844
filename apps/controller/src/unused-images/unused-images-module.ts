import { Module } from '@nestjs/common';
import { INSTALLATION } from '#lib/data-folder';
import { openImageStore } from '#lib/image-store';
import { type ControllerSpec, fromMapped, KubeClient } from '#lib/kube';
import type { ObjectKey } from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { Caches } from '../caches.js';
import type { ControllerConfig } from '../config.js';
import { CACHES, CLOCK, CONTROLLER_CONFIG, LOG } from '../core/tokens.js';
import { clusterUid } from './cluster-uid.js';
import { ImageCollector } from './image-collector.js';

export const UNUSED_IMAGES_CONTROLLER = Symbol('controller of images that nothing names');

/** There is one store. */
const STORE: readonly ObjectKey[] = [{ name: 'image-store' }];

/** Removes images that nothing names any more. */
@Module({
  providers: [
    {
      provide: ImageCollector,
      inject: [CACHES, KubeClient, CLOCK, LOG, CONTROLLER_CONFIG],
      useFactory: (
        { revisions, deployments, namespaces }: Caches,
        client: KubeClient,
        clock: Clock,
        log: Logger,
        { imageStore: folder, systemNamespace }: ControllerConfig,
      ) =>
        new ImageCollector({
          client,
          revisions,
          deployments,
          clock,
          log,
          store: folder === undefined ? undefined : openImageStore({ folder, installation: INSTALLATION }),
          cluster: () => clusterUid(namespaces, systemNamespace),
        }),
    },
    {
      provide: UNUSED_IMAGES_CONTROLLER,
      inject: [ImageCollector, CACHES],
      useFactory: (collector: ImageCollector, { revisions, namespaces }: Caches): ControllerSpec => ({
        name: 'unused-images',
        reconcile: () => collector.reconcile(),
        sources: [fromMapped(revisions, () => STORE), fromMapped(namespaces, () => STORE)],
      }),
    },
  ],
  exports: [UNUSED_IMAGES_CONTROLLER],
})
export class UnusedImagesModule {}
