"""A small Keras GAN that waits for its tf.data pipeline: pictures are enlarged and shrunk one at a time.

`--capture DIR` records four steps with TensorFlow's own profiler, as for tests/traces/keras.json.gz.
"""

import argparse

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

SIZE, LATENT, BATCH, NUM_CAPTURED = 32, 64, 8, 4


def prepare(picture: tf.Tensor) -> tf.Tensor:
    """Resize back and forth, as a careless augmentation does."""
    large = tf.image.resize(tf.cast(picture, tf.float32) / 127.5 - 1, (1024, 1024), method="bicubic")
    return tf.image.resize(tf.image.random_flip_left_right(large), (SIZE, SIZE), method="area")


def build_generator() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((LATENT,)),
            layers.Dense(4 * 4 * 16),
            layers.Reshape((4, 4, 16)),
            layers.Conv2DTranspose(12, 4, 2, "same", activation="relu"),
            layers.Conv2DTranspose(8, 4, 2, "same", activation="relu"),
            layers.Conv2DTranspose(3, 4, 2, "same", activation="tanh"),
        ]
    )


def build_discriminator() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((SIZE, SIZE, 3)),
            layers.Conv2D(8, 4, 2, "same", activation="leaky_relu"),
            layers.Conv2D(12, 4, 2, "same", activation="leaky_relu"),
            layers.Flatten(),
            layers.Dense(1),
        ]
    )


class Gan(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.generator, self.discriminator = build_generator(), build_discriminator()
        self.painting, self.judging = keras.optimizers.Adam(2e-4, 0.5), keras.optimizers.Adam(2e-4, 0.5)

    def train_step(self, real: tf.Tensor) -> dict[str, tf.Tensor]:
        noise = tf.random.normal((tf.shape(real)[0], LATENT))
        with tf.GradientTape() as tape:
            fake = self.generator(noise, training=True)
            scores = self.discriminator(real, training=True), self.discriminator(fake, training=True)
            judged = tf.reduce_mean(tf.nn.softplus(-scores[0])) + tf.reduce_mean(tf.nn.softplus(scores[1]))
        weights = self.discriminator.trainable_variables
        self.judging.apply_gradients(zip(tape.gradient(judged, weights), weights, strict=True))
        with tf.GradientTape() as tape:
            score = self.discriminator(self.generator(noise, training=True), training=True)
            painted = tf.reduce_mean(tf.nn.softplus(-score))
        weights = self.generator.trainable_variables
        self.painting.apply_gradients(zip(tape.gradient(painted, weights), weights, strict=True))
        return {"judged": judged, "painted": painted}


class Capture(keras.callbacks.Callback):
    """Record some steps after the first twenty."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self.folder = folder

    def on_train_batch_begin(self, batch: int, logs: object = None) -> None:
        if batch == 20:
            tf.profiler.experimental.start(self.folder)
        elif batch == 20 + NUM_CAPTURED:
            tf.profiler.experimental.stop()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--capture")
    parser.add_argument("--steps", type=int, default=30)
    arguments = parser.parse_args()
    pictures = tf.random.uniform((256, SIZE, SIZE, 3), 0, 255, tf.int32)
    data = tf.data.Dataset.from_tensor_slices(pictures).repeat().shuffle(256).map(prepare).batch(BATCH)
    gan = Gan()
    gan.compile()
    callbacks = [Capture(arguments.capture)] if arguments.capture else []
    gan.fit(data, epochs=1, steps_per_epoch=arguments.steps, verbose=2, callbacks=callbacks)


if __name__ == "__main__":
    main()
